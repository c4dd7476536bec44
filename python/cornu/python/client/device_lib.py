"""tensorflow.python.client.device_lib."""
from types import SimpleNamespace

from ... import devices


class DeviceAttributes(SimpleNamespace):
    """What TensorFlow says of a device: name, device_type, memory_limit, incarnation, physical_device_desc."""

    def __repr__(self) -> str:
        lines = [f'name: "{self.name}"', f'device_type: "{self.device_type}"', f"memory_limit: {self.memory_limit}",
                 f"incarnation: {self.incarnation}"]
        if self.physical_device_desc:
            lines.append(f'physical_device_desc: "{self.physical_device_desc}"')
        return "\n".join(lines) + "\n"


def _description(number: str, row: dict) -> str:
    if not row["bus_id"]:
        return row["description"]
    return (f"device: {number}, name: {row['description'].rsplit(',', 1)[0]}, pci bus id: {row['bus_id']}, "
            f"compute capability: {row['capability']}")


def list_local_devices(session_config=None) -> list[DeviceAttributes]:
    """The devices that can train. memory_limit: all the device's memory, in bytes."""
    if session_config is not None:
        raise NotImplementedError("list_local_devices: session_config is not in cornu; it takes None")
    return [DeviceAttributes(name=devices.logical_name(device), device_type=device.device_type,
                             memory_limit=row["memory"], incarnation=devices.incarnation(device.name),
                             physical_device_desc=_description(device.name.rsplit(":", 1)[-1], row))
            for device, row in devices.usable()]
